#!/bin/sh
# Make .venv ready. Usage: tools/setup.sh REQUIREMENTS_FILE; called by the Makefile, which skips it when nothing changed.
# PYTHON chooses the interpreter. Without it the first of the names below that is a suitable Python is taken.
set -eu
cd "$(dirname "$0")/.."
requirements=$1
venv_python=.venv/bin/python

version_of() {  # "3.12.4", or nothing when the command is missing or broken
    "$1" -c 'import sys; print(".".join(map(str, sys.version_info[:3])))' 2>/dev/null || true
}

is_suitable() {
    case "$(version_of "$1")" in 3.11.* | 3.12.* | 3.13.*) return 0 ;; *) return 1 ;; esac
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        candidates=$PYTHON
    else
        candidates="python3 python3.13 python3.12 python3.11 python"
    fi
    found=""
    for name in $candidates; do
        if is_suitable "$name"; then
            command -v "$name"
            return 0
        fi
        found="$found
  $name: $(version_of "$name" | grep . || echo 'not found, or does not start')"
    done
    cat >&2 <<END
dlsched needs Python 3.11, 3.12 or 3.13. Tried:$found
Install one (Debian and Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.13),
or name one that is elsewhere: make run PYTHON=/path/to/python3.12
END
    return 1
}

if ! is_suitable "$venv_python"; then
    python=$(find_python)
    echo "Creating .venv with $python, Python $(version_of "$python")."
    echo "First set-up: three to ten minutes and a download of 300 MB; the next start takes seconds."
    if ! "$python" -m venv --clear .venv; then
        echo "Python could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2
        rm -rf .venv
        exit 1
    fi
else
    echo "Bringing .venv up to date with $requirements."
fi
"$venv_python" -m pip install --quiet --disable-pip-version-check --no-input -r "$requirements"
"$venv_python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --editable .  # the command dlsched
