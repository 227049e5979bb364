/** Loads a native library from a compiled binary, where the operating system's loader can't find it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Loads an addon and the libraries that it expects beside itself. They are unpacked to a private folder, which is removed after loading:
 * others could change files in a shared folder before the next start.
 * @param files the names that the loader looks for, and the paths of their content, compressed with zstd; the addon first
 * @throws Error if the files can't be written or loaded
 */
export function loadUnpacked(files: readonly { name: string; path: string }[]): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'cstp-'))
  try {
    for (const { name, path } of files)
      writeFileSync(join(folder, name), Bun.zstdDecompressSync(readFileSync(path)), { mode: 0o700 })
    const module = { exports: {} }
    // How Node loads the addon of the ONNX runtime, whose path no import can name: none of our code calls a native function.
    process.dlopen(module, join(folder, files[0]!.name))
    return module.exports
  } finally {
    // Windows can't remove the files of a loaded library; other operating systems don't need them after loading.
    if (process.platform !== 'win32') rmSync(folder, { recursive: true })
  }
}
