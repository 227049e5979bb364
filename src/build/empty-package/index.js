// Empty: replaces packages that must not be loaded.
