"""Holds the schemas against the shipped files, by a validator that is not ours.

Every rules and test file must be valid. Every file of tests/bad_config must be refused, except those
listed in schemas/beyond.txt: mistakes that a schema cannot see (and that `hookbell check` finds).
"""
import json
import pathlib
import sys

import jsonschema
import ruamel.yaml
from ruamel.yaml.error import YAMLError

ROOT = pathlib.Path(__file__).resolve().parent.parent


def schema(name):
    document = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    validator = jsonschema.validators.validator_for(document)
    validator.check_schema(document)
    return validator(document)


def mistake(validator, path):
    """The first thing wrong with a file, or None."""
    try:
        # YAML 1.2, in which `on` and `no` are words.
        document = ruamel.yaml.YAML(typ="safe", pure=True).load(path.read_text())
    except YAMLError as error:
        return f"not yaml: {error}"
    # Through JSON, which has only texts for keys, as Hookbell reads them.
    document = json.loads(json.dumps(document, default=str))
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    return error and f"{error.json_path}: {error.message}"


def main():
    rules, tests = schema("rules"), schema("tests")
    failures = []
    good = [(rules, path) for path in sorted((ROOT / "rules").glob("*.yaml"))]
    good += [(tests, path) for path in sorted((ROOT / "rules" / "tests").glob("*.yaml"))]
    for validator, path in good:
        error = mistake(validator, path)
        if error:
            failures.append(f"{path.relative_to(ROOT)} is refused: {error}")
        if not path.read_text().startswith("# yaml-language-server: $schema="):
            failures.append(f"{path.relative_to(ROOT)} does not begin with the modeline")
    beyond = set((ROOT / "schemas" / "beyond.txt").read_text().split())
    bad = sorted((ROOT / "tests" / "bad_config").rglob("*.yaml"))
    for path in bad:
        name = str(path.relative_to(ROOT / "tests" / "bad_config"))
        refused = mistake(rules, path) is not None
        if refused == (name in beyond):
            failures.append(f"{name}: {'refused, but listed' if refused else 'valid, but not listed'} in schemas/beyond.txt")
    unknown = beyond - {str(path.relative_to(ROOT / "tests" / "bad_config")) for path in bad}
    failures += [f"schemas/beyond.txt names {name}, which does not exist" for name in sorted(unknown)]
    print("\n".join(failures))
    print(f"schemas: {len(good)} files valid, {len(bad) - len(beyond)} of {len(bad)} mistakes refused, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
