/**
 * Preloaded by every test run: temporary folders are in memory where the system has such a folder with room, as a test waits for the disk longer
 * than it computes (4 ms a sync on a busy machine). A killed process loses nothing there either. Tests of crashes, and all in `bun run soak`,
 * use the disk.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const prefix = 'cstp-tests-'
const leastBytes = 4 * 2 ** 30

function hasRoom(): boolean {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= leastBytes
}

// Processes that a worker starts inherit the folder of that worker.
process.env.CSTP_TEST_DISK ??= tmpdir()
if (!process.env.CSTP_SOAK && tmpdir() === process.env.CSTP_TEST_DISK && hasRoom()) {
  // The runner calls nothing when a worker ends, so the next run removes what the last one left.
  for (const name of readdirSync(memory)) {
    if (name.startsWith(prefix) && !existsSync(`/proc/${name.slice(prefix.length)}`))
      rmSync(join(memory, name), { recursive: true, force: true })
  }
  process.env.TMPDIR = join(memory, `${prefix}${process.pid}`)
  mkdirSync(process.env.TMPDIR)
  // Of the process that started the workers: what they share.
  if (process.env.BUN_TEST_WORKER_ID) process.env.CSTP_TEST_RUN = join(memory, `${prefix}${process.ppid}`)
}
