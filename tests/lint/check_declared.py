"""A type or function of a header is used only where that header is included, directly or by what is included; no two
files define types of one name in one namespace.

Grouped sources (THTRAIN_GROUP_SOURCES) see their neighbours' includes: there a missing one goes unnoticed. This looks
at words alone: a name counts as declared where a file that is seen has it behind a type, anywhere.
"""

import re

import check_includes
import tree

NO_CODE = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/')
# Lines of the preprocessor, names of tests, and attributes are no uses.
NO_USE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*|\b(?:TEST\w*|INSTANTIATE_\w+)\([^,)]*,[^,)]*|"
                    r"__attribute__\(\(.*?\)\)[\s;]", re.M)
TYPE = re.compile(r"\b(?:class|struct|union|enum(?: class)?)\s+(\w+)|\busing\s+(\w+)\s*=")
FUNCTION = re.compile(r"(?<=[\w>&*]\s)(\w+)\s*\(|(?<=[&*])(\w+)\s*\(")
# A word behind a type. A macro; one of [a, b] or of captures; a pointer to a function; a template's pack; "* const a".
BEHIND_A_TYPE = re.compile(r"(?=(\b\w+|>)(?:\s+[&*]*|\s*[&*]+\s*)(?:\w+::)*([A-Za-z_]\w*))")
DECLARED_OTHERWISE = re.compile(r"#\s*define\s+(\w+)|[\[,&*]\s*(\w+)\s*[\],:=]|\(\s*[*&]\s*(\w+)\s*\)|"
                                r"\.\.\.\s+(\w+)|[*&]\s*const\s+(\w+)")
NO_TYPES = set("and case const constexpr else explicit extern friend goto inline mutable new not or return static "
               "throw typename virtual volatile".split())
KEYWORDS = set("alignas bool char const decltype defined double enum explicit float for if int int64_t long noexcept "
               "operator requires size_t sizeof static_assert std switch template typename uint8_t uint64_t void "
               "while".split())


def code_of(text):
    text = NO_CODE.sub(lambda m: ("" if m.group().startswith("/") else '""') + "\n" * m.group().count("\n"), text)
    return NO_USE.sub(lambda m: "\n" * m.group().count("\n"), text)


def outside_of_braces(text):
    """What is in namespaces alone, without bodies."""
    out, inside, last = [], [], 0
    for match in re.finditer(r"[{};]", text):
        piece, sign = text[last:match.start()], match.group()
        if True not in inside:
            out.append(piece + (";" if sign == "}" else sign))
        last = match.end()
        if sign == "{":
            inside.append(not re.search(r'\bnamespace\b[\s\w:]*$|extern\s+""\s*$', piece))
        elif sign == "}" and inside:
            inside.pop()
    return "".join(out)


DEFINITION = re.compile(r"(?:^|\s)(?:class|struct|union|enum(?:\s+class)?)\s+([A-Za-z_]\w*)(?:\s+final)?\s*"
                        r"(?::[^:].*)?$", re.S)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")


def types_in(text):
    """Types that are defined in namespaces with a name: qualified name and line."""
    inside, last = [], 0
    for match in re.finditer(r"[{};]", text):
        piece, sign = text[last:match.start()], match.group()
        last = match.end()
        if sign == "{":
            namespace, type_ = NAMESPACE.search(piece), DEFINITION.search(piece)
            if type_ and not namespace and None not in inside:
                yield "::".join([*inside, type_.group(1)]), text.count("\n", 0, match.start()) + 1
            inside.append(namespace.group(1) or None if namespace else None)
        elif sign == "}" and inside:
            inside.pop()


def names(pattern, text):
    return {next(group for group in match.groups() if group) for match in pattern.finditer(text)}


def declared_in(text):
    behind = {m.group(2) for m in BEHIND_A_TYPE.finditer(text) if m.group(1) not in NO_TYPES}
    return behind | names(DECLARED_OTHERWISE, text)


def is_use(text, at):
    """Not of a member, and no further name of a declaration: "int a, name(1)"."""
    before = text[max(text.rfind(sign, 0, at) for sign in ";{}") + 1:at]
    if before.rstrip().endswith(("->", ".")):
        return False
    return not before.rstrip().endswith(",") or before.count("(") > before.count(")")


def repeated_types(codes):
    """Of types of one name the linker takes any constructor and destructor for both. Tests may have types of their own:
    each program of tests is linked apart."""
    first, findings = {}, []
    for path, text in codes.items():
        if path.startswith("tests/") and not path.startswith("tests/support/"):
            continue
        for name, line in types_in(text):
            if first.setdefault(name, path) != path:
                findings.append(f"{path}:{line}: {name} is defined in {first[name]} too")
    return findings


def check(root):
    codes, includes, findings = {}, {}, []
    for path in tree.files(root):
        # Embedded texts follow entry_abi.h, and include no header of the tree.
        if not path.startswith(("tests/package/", "compiler/codegen/device_text/")):
            text = tree.read(root, path)
            codes[path] = code_of(text)
            includes[path] = [m.group(1)[1:-1] for m in check_includes.INCLUDE.finditer(text) if m.group(1)[0] == '"']
    findings += repeated_types(codes)
    declared = {path: declared_in(text) for path, text in codes.items()}
    header_of = {}
    for path, text in codes.items():
        if path.endswith(".h"):
            for name in (names(TYPE, outside := outside_of_braces(text)) | names(FUNCTION, outside)) - KEYWORDS:
                header_of.setdefault(name, path)
    for path, text in codes.items():
        seen, ahead = set(), [path]
        while ahead:
            if (at := ahead.pop()) not in seen and at in codes:
                seen.add(at)
                ahead += includes[at]
        known = set().union(*(declared[at] for at in seen))
        for name in sorted((set(re.findall(r"[A-Za-z_]\w*", text)) & header_of.keys()) - known):
            call = "" if name[0].isupper() else r"\s*\("
            for match in re.finditer(rf"(?<![\w.:>~]){name}\b{call}", text):
                if is_use(text, match.start()):
                    line = text.count("\n", 0, match.start()) + 1
                    findings.append(f"{path}:{line}: {name} is of {header_of[name]}, which is not included")
                    break
    return findings


if __name__ == "__main__":
    tree.main(check, __doc__)
