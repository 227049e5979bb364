/** Keeps onnxruntime's native build from reporting on its use: its releases send telemetry from 1.29 on, unless they are told not to. */

const name = 'ORT_DISABLE_TELEMETRY'

/**
 * Call it before the library is loaded: it reads the variable in the C library, which does not see what is written to `process.env`.
 * @throws Error when the variable can't be set; the library must not be loaded then
 */
export async function silenceTelemetry(): Promise<void> {
  const { dlopen } = await import('bun:ffi')
  if (process.platform === 'win32') {
    const { symbols, close } = dlopen('ucrtbase.dll', { _putenv_s: { args: ['cstring', 'cstring'], returns: 'int' } })
    const status = symbols._putenv_s(Buffer.from(`${name}\0`), Buffer.from('1\0'))
    close()
    if (status !== 0) throw new Error(`can't set ${name}`)
    return
  }
  const library = process.platform === 'linux' ? 'libc.so.6' : 'libSystem.B.dylib'
  const { symbols } = dlopen(library, { setenv: { args: ['cstring', 'cstring', 'int'], returns: 'int' } })
  if (symbols.setenv(Buffer.from(`${name}\0`), Buffer.from('1\0'), 1) !== 0) throw new Error(`can't set ${name}`)
}
