#!/usr/bin/env python3
"""Writes products.txt: NumPy's products of tensors, for tests/compiler/ops/products_golden_test.cpp.

Run: python3 tests/golden/products.py. A line is a case: name, arguments without spaces, shapes of operands, "=", the
result's shape, its values. Element i of operand number k is (7 i + 3 k) mod 11 - 5.
"""
import pathlib

import numpy as np

lines = [f"# written by products.py with NumPy {np.__version__}"]


def show(numbers):
    return "[" + ",".join(map(str, numbers)) + "]"


def operand(shape, k):
    return ((7 * np.arange(int(np.prod(shape))) + 3 * k) % 11 - 5).astype(np.float64).reshape(shape)


def case(name, *arguments, shapes, result):
    words = [show(a) if isinstance(a, (tuple, list)) else str(a) for a in arguments] + [show(s) for s in shapes]
    value = np.asarray(result(*[operand(shape, k) for k, shape in enumerate(shapes)]))
    lines.append(" ".join([name, *words, "=", show(value.shape), *(str(int(v)) for v in value.ravel())]))


for a, b in [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((5, 3, 4), (5, 4, 2)), ((3, 4), (5, 4,
                     2)),
             ((5, 3, 4), (4, 2)), ((4,), (5, 4, 2)), ((5, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 5, 3, 4), (2,
             1, 4, 2)),
             ((1, 3, 4), (5, 4, 2)), ((5, 1, 4), (5, 4, 2)), ((5, 3, 4), (5, 4, 1)), ((5, 1, 4), (5, 4, 1)),
             ((5, 3, 1), (5, 1, 2)), ((0, 3, 4), (0, 4, 2)), ((2, 3, 0), (2, 0, 2)), ((2, 3, 2, 3, 4), (3, 1, 4, 3))]:
    case("matmul", shapes=[a, b], result=np.matmul)

for a, b, letters in [((5, 3, 4), (5, 4, 2), "bij,bjk->bik"), ((5, 4), (5, 4, 2), "bj,bjk->bk"), ((5, 3, 4), (5, 4),
                     "bij,bj->bi"),
                      ((5, 4), (5, 4), "bj,bj->b")]:
    case("batched_dot", shapes=[a, b], result=lambda x, y: np.einsum(letters, x, y))

for axes, a, b in [(0, (2, 3), (4,)), (1, (2, 3), (3, 4)), (2, (2, 3, 4), (3, 4, 5)), (2, (3, 4), (3, 4)), (1, (3,),
                     (3,))]:
    case("tensordot", axes, shapes=[a, b], result=lambda x, y: np.tensordot(x, y, axes))
for first, second, a, b in [((1,), (0,), (2, 3), (3, 4)), ((0, 2), (1, 0), (3, 2, 4), (4, 3, 5)), ((-1,), (-1,), (2,
                     4), (3, 4)),
                            ((2, 0), (0, 2), (3, 2, 4), (4, 5, 3)), ((), (), (2,), (3,)), ((0, 1), (0, 1), (3, 4), (3,
                            4)),
                            ((1,), (1,), (2, 3, 2), (4, 3))]:
    case("tensordot_axes", first, second, shapes=[a, b], result=lambda x, y: np.tensordot(x, y, (first, second)))
for first, second, a, b in [((2,), (1,), (5, 3, 4), (5, 4, 2)), ((1, 3), (2, 1), (5, 3, 2, 4), (5, 4, 3)),
                            ((1,), (1,), (5, 4), (5, 4)), ((1,), (2,), (5, 4), (5, 2, 4))]:
    case("batched_tensordot", first, second, shapes=[a, b],
         result=lambda x, y: np.stack([np.tensordot(u, v, ([i - 1 for i in first], [i - 1 for i in second]))
                                       for u, v in zip(x, y)]))

for a, b in [((2, 3), (4, 2)), ((3,), (2,)), ((2, 3), (2,)), ((2,), (3, 2)), ((2, 1, 2), (3, 2)), ((), (2, 3)), ((0,
                     2), (2, 2))]:
    case("kron", shapes=[a, b], result=np.kron)

for letters, *shapes in [
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3),
        (4, 3)),
        ("ji,jk->ik", (3, 2), (3, 4)), ("i,i", (4,), (4,)), ("i,i->", (4,), (4,)), ("i,j->ij", (2,), (3,)),
        ("i,j->ji", (2,), (3,)),
        ("ij,j->i", (2, 3), (3,)), ("ij,i->j", (2, 3), (2,)), ("i,ij", (2,), (2, 3)), ("ij->ji", (2, 3)), ("ij->", (2,
        3)),
        ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ii->", (3, 3)),
        ("iij->ij", (3, 3, 2)),
        ("iji->j", (3, 2, 3)), ("iii->i", (3, 3, 3)), ("ijij->ij", (2, 3, 2, 3)), ("ii,ij->j", (3, 3), (3, 2)),
        ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("bij,bjk->ikb", (5, 2, 3), (5, 3, 4)), ("bij,bkj->bik", (5, 2, 3),
        (5, 4, 3)),
        ("bij,bij->b", (5, 2, 3), (5, 2, 3)), ("bij,bj->bi", (5, 2, 3), (5, 3)), ("ijb,jkb->ikb", (2, 3, 5), (3, 4, 5)),
        ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)), ("bhqk,bkhd->bqhd", (2, 4, 3, 6), (2, 6, 4, 5)),
        ("ijk,ilm,njm,nlk,abc->", (2, 3, 4), (2, 5, 3), (4, 3, 3), (4, 5, 4), (2, 1, 2)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,jk,kl,lm->mi", (2, 3), (3, 4), (4, 2), (2, 3)),
        ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)), ("a,b,c->abc", (2,), (3,), (4,)), ("ij,ij,ij->ij", (2, 3), (2, 3),
        (2, 3)),
        ("ab,bc,cd,de,ef,fg,gh->ah", (2, 3), (3, 2), (2, 4), (4, 2), (2, 3), (3, 2), (2, 2)),
        ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)), ("...ij,...jk->...ik", (6, 5, 2, 3), (5, 3, 4)),
        ("...ij,jk->...ik", (5, 2, 3), (3, 4)),
        ("i...->...", (3, 2, 4)), ("...i->...", (3, 2, 4)), ("i...,i...->...", (3, 2), (3, 2)), ("...,...", (2, 3),
        (3,)),
        ("...,...->...", (), (2, 3)), ("i...j->j...i", (2, 3, 4)), ("...", (2, 3)), ("...ij->...ji", (2, 3)),
        ("ij,jk->ik", (0, 3), (3, 4)), ("ij,jk->ik", (2, 0), (0, 4)), ("ij,jk->ik", (1, 3), (3, 1)), ("ab,cd->abcd",
        (2, 3), (2, 2)),
        ("ab,cd->", (2, 3), (2, 2)), ("abc,cd->", (2, 3, 4), (4, 2)), ("bij,bjk->", (3, 2, 4), (3, 4, 2)), (",ij->ij",
        (), (2, 3)),
        ("A,aB->aAB", (2,), (3, 2)), ("ea,fb,abcd,gc,hd->efgh", (2, 2), (2, 3), (2, 3, 2, 2), (3, 2), (2, 2)),
        ("ij,ji->", (3, 4), (4, 3)), ("ij,jk,ki->", (2, 3), (3, 4), (4, 2)), ("xij,yjk->xyik", (2, 3, 4), (5, 4, 2))]:
    case("einsum", letters, shapes=shapes, result=lambda *x: np.einsum(letters, *x))

path = pathlib.Path(__file__).with_suffix(".txt")
path.write_text("\n".join(lines) + "\n")
