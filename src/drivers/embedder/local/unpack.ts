/** Loads a native library out of a compiled binary, in which no loader of the system can find it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Loads an addon and the libraries that it looks for beside itself. They are in a folder of this process alone while they are loaded,
 * and removed afterwards: files that stay in a shared folder could be changed by others before the next start.
 * @param files their names, as the loader looks for them, and where their content is, compressed with zstd; the addon first
 * @throws Error when they can't be written or loaded
 */
export function loadUnpacked(files: readonly { name: string; path: string }[]): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'cstp-'))
  try {
    for (const { name, path } of files)
      writeFileSync(join(folder, name), Bun.zstdDecompressSync(readFileSync(path)), { mode: 0o700 })
    const module = { exports: {} }
    process.dlopen(module, join(folder, files[0]!.name))
    return module.exports
  } finally {
    // Windows keeps the files of a loaded library; the others don't need them any more.
    if (process.platform !== 'win32') rmSync(folder, { recursive: true })
  }
}
