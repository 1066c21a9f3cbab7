#!/usr/bin/env python3
"""Writes suite_einsum.txt: NumPy's and PyTensor's einsum, tensordot, batched_dot and matmul, for
tests/compiler/suites/einsum_test.cpp.

Run: python3 tests/golden/suite_einsum.py, with PyTensor. The cases follow NumPy's _core/tests/test_einsum.py and
PyTensor's tests/tensor/test_einsum.py and test_math.py; they are written anew, with numbers of their own.
"""
import numpy as np

from suite import Suite, spread

s = Suite(__file__)


def operands(shapes):
    return [spread(*shape, seed=k) for k, shape in enumerate(shapes)]


def row(name, subscripts, *shapes):
    s.values(name, np.einsum(subscripts, *operands(shapes)))


def shapes_of(text, lengths):
    return [[lengths[letter] for letter in term] for term in text.split("->")[0].split(",")]


s.group = "einsum"
LENGTHS = dict(zip("ijklmnop", [2, 3, 4, 5, 3, 2, 4, 3]))
for text in ["ij", "ji", "ii->i", "ii", "ij->", "ij->j", "ij->i", "ij,ij->ij", "ij,ji->ij", "ij,ji->ji", "ij,jk",
             "kj,ji", "ij,kj->ik", "ik,kj->ikj", "ij,kl->ijkl", "ij,jk,kl->il", "kl,ij,jk->il",
             "oij,imj,mjkn,lnk,plk->op"]:
    row(f"test_einsum_signatures[{text}]", text, *shapes_of(text, LENGTHS))
SIZES = dict(zip("abcdefghij", [2, 3, 4, 3, 4, 3, 2, 3, 2, 4]))
GROUPS = {
    "test_hadamard_like_products": ["a,ab,abc->abc", "a,b,ab->ab"],
    "test_index_transformations": ["ea,fb,gc,hd,abcd->efgh", "ea,fb,abcd,gc,hd->efgh", "abcd,ea,fb,gc,hd->efgh"],
    "test_collapse": ["ab,ab,c->", "ab,ab,c->c", "ab,ab,cd,cd->", "ab,ab,cd,cd->ac", "ab,ab,cd,cd->cd",
                      "ab,ab,cd,cd,ef,ef->"],
    "test_inner_product": ["ab,ab", "ab,ba", "abc,abc", "abc,bac", "abc,cba"],
    "test_dot_product": ["ab,bc", "ab,cb", "ba,bc", "abcd,cd", "abcd,ab", "abcd,cdef", "abcd,cdef->feba"],
    "test_random_cases": ["aab,fa,df,ecc->bde", "ecb,fef,bad,ed->ac", "bcf,bbb,fbf,fc->", "bb,ff,be->e",
                          "bcb,bb,fc,fff->", "fbb,dfd,fc,fc->", "afd,ba,cc,dc->bf", "adb,bc,fa,cfc->d"],
}
for name, texts in GROUPS.items():
    for text in texts:
        row(f"TestEinsum.{name}[{text}]", text, *shapes_of(text, SIZES))
E = "TestEinsum."
for text in ["...", "ij", "ji"]:
    row(E + f"test_einsum_views[{text}]", text, (2, 3))
row(E + "test_einsum_views[ii->i]", "ii->i", (3, 3))
for text in ["...ii->...i", "ii...->...i", "...ii->i...", "jii->ij", "ii...->i...", "i...i->i...", "i...i->...i",
             "iii->i"]:
    row(E + f"test_einsum_views[{text}]", text, (3, 3, 3))
row(E + "test_einsum_views[ijk->jik]", "ijk->jik", (2, 3, 4))
SUMS = [("i->", (5,)), ("...i->...", (2, 3, 4)), ("i...->...", (2, 5)), ("ii", (4, 4)),
        ("...,...", (3, 4), (2, 3, 4)), ("...i,...i", (2, 3, 4), (4,)), ("i...,i...", (4, 3, 2), (4,)),
        ("i,j", (3,), (4,)), ("ij,j", (4, 3), (3,)), ("ji,j", (3, 4), (3,)), ("ij,jk", (4, 3), (3, 6)),
        ("ij,jk,kl", (3, 4), (4, 5), (5, 6)), ("ijk,jil->kl", (3, 4, 5), (4, 3, 2)), ("i,i,i->i", (6,), (6,), (6,)),
        (",i->", (), (9,)), ("i,->", (9,), ()), ("i,->i", (5,), ()), (",i->i", (), (5,)), ("i,i", (5,), (5,)),
        ("z,mz,zm->", (2,), (2, 2), (2, 2)), ("ij,ij->j", (10, 2), (1, 2)), ("...ij,...jk->...ik", (1, 5), (5, 5)),
        ("ji,i->", (2, 2), (2,)), ("i,ij->", (2,), (2, 2)), ("ij,i->", (2, 2), (2,))]
for text, *shapes in SUMS:
    row(E + f"check_einsum_sums[{text}]", text, *shapes)
for text, *shapes in [("ij...,j...->i...", (1, 2), (2, 2, 1)), ("...i,...i", (3,), (3,)),
                      ("ijklm,ijn,ijn->", (2, 3, 2, 2, 3), (2, 3, 4), (2, 3, 4)),
                      ("x,yx,zx->xzy", (2,), (2, 2), (4, 2))]:
    row(E + f"test_einsum_misc[{text}]", text, *shapes)
for text, *shapes in [("ij...,j...->ij...", (2, 3, 4), (3,)), ("ij...,...j->ij...", (2, 3, 4), (3,)),
                      ("ij...,j->ij...", (2, 3, 4), (3,)), ("ik...,k...->i...", (4, 3), (3, 2)),
                      ("ik...,...kj->i...j", (4, 3), (3, 2)), ("...k,kj", (4, 3), (3, 2)),
                      ("ik,k...->i...", (4, 3), (3, 2)), ("ijkl,k", (2, 3, 4, 5), (4,)),
                      ("...kl,k", (2, 3, 4, 5), (4,)), ("...kl,k...", (2, 3, 4, 5), (4,)),
                      ("...lmn,lmno->...o", (1, 1, 1, 3, 4, 2), (3, 4, 2, 3))]:
    row(E + f"test_einsum_broadcast[{text}]", text, *shapes)
for text, *shapes in [("cl,cpx->lpx", (2, 3), (2, 3, 7))]:
    row(E + f"test_einsum_fixedstridebug[{text}]", text, *shapes)
row(E + "test_einsum_fixed_collapsingbug", "aabb->ab", (3, 3, 3, 3))
row(E + "test_einsum_failed_on_p9_and_s390x", "ijij->", (3, 4, 3, 4))
for text in ["mi,mi,mi->m", "im,im,im->m"]:
    row(E + f"test_einsum_all_contig_non_contig_output[{text}]", text, (4, 4), (4, 4), (4, 4))
row(E + "test_different_paths[4]", "i,i,i,i->", (5,), (5,), (5,), (5,))
row("test_einsum_conv", "bchwkt,fckt->bfhw", (2, 3, 2, 3, 2, 2), (4, 3, 2, 2))
row("test_batch_dim", "mij,jk->mik", (4, 3, 5), (5, 2))
row("test_ellipsis[last]", "...mp,...pn->...mn", (2, 3, 4, 5), (2, 3, 5, 2))
row("test_ellipsis[middle]", "m...p,p...n->m...n", (4, 2, 3, 5), (5, 2, 3, 2))
row("test_broadcastable_dims", "ijk,bj,bk->i", (3, 4, 5), (6, 4), (1, 5))
row("test_threeway_mul", "...,...,...->...", (3,), (3,), (3,))

s.group = "products"
for k, (a, b, axes) in enumerate([((4,), (4,), 1), ((4,), (4, 3), 1), ((5, 4), (4, 3), 1), ((3, 4, 2, 3), (2, 3, 4), 2),
                                  ((3, 4), (5,), 0), ((2, 3), (4, 2), 0)]):
    x, y = operands([a, b])
    s.values(f"TestTensordot.test_scalar_axes[{k}]", np.tensordot(x, y, axes))
for k, (a, b, axes) in enumerate([((4,), (4,), ([0], [0])), ((4, 3), (4,), ([0], [0])), ((4, 5), (5, 3), ([1], [0])),
                                  ((4, 5), (3, 5), ([1], [1])), ((4, 5), (4, 3), ([0], [0])),
                                  ((4, 5), (3, 4), ([0], [1])), ((2, 3, 5), (5, 3, 4), ([1, 2], [1, 0])),
                                  ((3, 4, 5), (4,), ([1], [0])), ((2, 3, 4, 2), (4, 2, 3), ([1, 3], [2, 1])),
                                  ((2, 3), (3, 2), ([-1], [-2])), ((2, 3), (4,), ([], []))]):
    x, y = operands([a, b])
    s.values(f"TestTensordot.test_basic[{k}]", np.tensordot(x, y, axes))
for k, (a, b) in enumerate([((3, 4, 2), (3, 2, 5)), ((3, 4), (3, 4, 2)), ((3, 4, 2), (3, 2)), ((3, 4), (3, 4))]):
    x, y = operands([a, b])
    s.values(f"TestBatchedDot.test_batched_dot[{k}]", np.stack([np.dot(i, j) for i, j in zip(x, y)]))
for k, (a, b) in enumerate([((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                            ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 4)),
                            ((5, 2, 3), (3,)), ((1, 2, 3), (4, 3, 1)), ((2, 0, 3), (2, 3, 4)), ((2, 3, 0), (2, 0, 4))]):
    x, y = operands([a, b])
    s.values(f"TestMatMul.test_op[{k}]", np.matmul(x, y))

s.group = "errors"
for text, *shapes in [("ij", (3,)), ("...ij", (3,)), ("i...j", (3,)), ("i..", (2,)), (".i...", (2,)), ("j->..j", (2,)),
                      ("i%...", (2,)), ("i->&", (2,)), ("i->ij", (2,)), ("ij->jij", (2, 2)),
                      ("ii", (2, 3)), ("ii->i", (2, 3)), ("i,", (2,)), ("i", ()), ("mp,pn->mn", (2, 3, 4), (2, 4, 3)),
                      ("ij,jk", (2, 3), (4, 2))]:
    s.error(E + f"test_einsum_errors[{text}]", lambda t=text, o=shapes: np.einsum(t, *operands(o)))
s.error("TestMatMul.test_op[scalar]", lambda: np.matmul(np.float64(2), spread(3)))
s.error("TestMatMul.test_op[lengths]", lambda: np.matmul(spread(2, 3), spread(4, 2)))
s.error("TestTensordot.test_raise_error[lengths]", lambda: np.tensordot(spread(2, 3), spread(4, 2), 1))
s.error("TestTensordot.test_raise_error[count]", lambda: np.tensordot(spread(2, 3), spread(3, 2), ([0, 1], [0])))
s.error("TestTensordot.test_raise_error[axis]", lambda: np.tensordot(spread(2, 3), spread(3, 2), ([2], [0])))
s.write()
