// Nothing: what loads a package that this one replaces gets no functions.
