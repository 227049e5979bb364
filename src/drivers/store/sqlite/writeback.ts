/** Has files written out before they are synced: the first sync then commits the journal of the file system for all, the others find nothing to do. */
import { dlopen } from 'bun:ffi'

/** Of Linux: begins to write what is changed, and waits for nothing. */
const SYNC_FILE_RANGE_WRITE = 2

type Begin = (fd: number) => boolean
let begin: Begin | null = null

function open(): Begin {
  try {
    const { symbols } = dlopen('libc.so.6', {
      sync_file_range: { args: ['int', 'i64', 'i64', 'u32'], returns: 'int' },
    })
    return (fd) => symbols.sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) === 0
  } catch {
    // Other systems, and other C libraries: each sync writes its own file.
    return () => false
  }
}

/** Begins to write an open file out. False where the system can't be told; its sync does it in any case, and says what fails. */
export function beginWriteback(fd: number): boolean {
  begin ??= open()
  return begin(fd)
}
