"""Runs a package that has no program to start by its name: run_main.py <package> [argument …]"""

import importlib
import sys

package = sys.argv.pop(1)
importlib.import_module(package).main()
