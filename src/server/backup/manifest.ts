/** What a backup says of itself: its files with their hashes, so that a damaged or half one is never taken for whole. */
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import * as v from 'valibot'

export const manifestName = 'cstp-backup.json'
/** Of the manifest and the layout. */
const format = 1

const Manifest = v.object({
  product: v.literal('cstp'),
  format: v.literal(format),
  /** Of the program that made the backup. */
  version: v.string(),
  created_at: v.string(),
  decisions: v.number(),
  /** Null where there is no evidence database. */
  evidence_records: v.nullable(v.number()),
  /** Versions of the tables, by file name. */
  databases: v.record(v.string(), v.number()),
  files: v.array(
    v.object({
      path: v.pipe(
        v.string(),
        v.check((path) => !isAbsolute(path) && !path.split(/[\\/]/).includes('..'), 'leads out of the backup'),
      ),
      size: v.number(),
      sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
    }),
  ),
})
export type Manifest = v.InferOutput<typeof Manifest>
export type BackupFile = Manifest['files'][number]

/** The parts of a manifest that this program decides. */
export const manifestHead = { product: 'cstp', format } as const

/** Reads the manifest of a backup. @throws Error where there is none, or it is damaged or newer than this program */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    throw new Error(`${folder} is no whole backup: it has no ${manifestName}`)
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(`${manifestName} is damaged`, { cause })
  }
  const made = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  if (typeof made === 'number' && made > format)
    throw new Error(`the backup has format ${made}; this program knows formats up to ${format}: take the newer program`)
  const parsed = v.safeParse(Manifest, value)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new Error(`${manifestName} is damaged: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`)
}
