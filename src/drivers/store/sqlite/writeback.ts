/**
 * Starts write-out of files before they are synced: the first sync then commits the file system's journal for all of them, and the others
 * have nothing to do.
 */
import { dlopen } from 'bun:ffi'

/** A Linux flag: starts writing changed pages and does not wait. */
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
    // Other operating systems and C libraries: each sync writes its own file.
    return () => false
  }
}

/**
 * Starts writing out an open file. False if the operating system does not support it; the sync then writes the file, and reports errors in
 * any case.
 */
export function beginWriteback(fd: number): boolean {
  begin ??= open()
  return begin(fd)
}
