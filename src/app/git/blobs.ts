/** Reads files of earlier commits. */
import { startGit } from './run.ts'

const maxBytes = 1_048_576

/** Whether an object name says that there is no file. */
export const isNothing = (oid: string): boolean => /^0+$/.test(oid)

export interface Blobs {
  /** The text of an object; null if there is none, or if it is longer than 1 MiB. */
  read(oid: string): Promise<string | null>
  close(): Promise<void>
}

/** Opens one process for many reads. If git is older than 2.36, or ends, every further read gives null. */
export function openBlobs(folder: string): Blobs {
  const child = startGit(folder, ['cat-file', '--batch-command'], 'pipe')
  const stdin = child.stdin as Bun.FileSink
  const reader = (child.stdout as ReadableStream<Uint8Array>).getReader()
  let buffer = Buffer.alloc(0)
  let isOver = false
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    if (done) isOver = true
    else buffer = Buffer.concat([buffer, value])
    return !done
  }
  const line = async (): Promise<string | null> => {
    for (;;) {
      const end = buffer.indexOf(10)
      if (end !== -1) {
        const text = buffer.subarray(0, end).toString('utf8')
        buffer = buffer.subarray(end + 1)
        return text
      }
      if (!(await more())) return null
    }
  }
  const ask = async (command: string, oid: string): Promise<number | null> => {
    stdin.write(`${command} ${oid}\n`)
    await stdin.flush()
    const size = /^[0-9a-f]+ blob (\d+)$/.exec((await line()) ?? '')?.[1]
    return size === undefined ? null : Number(size)
  }
  return {
    async read(oid) {
      if (isOver || !/^[0-9a-f]{40,64}$/.test(oid) || isNothing(oid)) return null
      try {
        const size = await ask('info', oid)
        if (size === null || size > maxBytes) return null
        const length = await ask('contents', oid)
        if (length === null) return null
        while (buffer.length < length + 1) if (!(await more())) return null
        const text = buffer.subarray(0, length).toString('utf8')
        buffer = buffer.subarray(length + 1)
        return text
      } catch {
        isOver = true
        return null
      }
    },
    async close() {
      child.kill()
      await child.exited
    },
  }
}
