/** Keeps LanceDB's own log, which goes to stderr in a format of its own, to errors. */

/** Native code does not see what is written to `process.env`, so the variable is set in the C library. */
export async function quietUnlessAsked(): Promise<void> {
  if (process.env.LANCEDB_LOG !== undefined) return
  try {
    const { dlopen, suffix } = await import('bun:ffi')
    const library = process.platform === 'linux' ? 'libc.so.6' : `libSystem.B.${suffix}`
    const { symbols } = dlopen(library, { setenv: { args: ['cstring', 'cstring', 'int'], returns: 'int' } })
    symbols.setenv(Buffer.from('LANCEDB_LOG\0'), Buffer.from('error\0'), 1)
  } catch {
    // Another C library: then its warnings are seen.
  }
}
