/** Keeps resident data level with the database, whichever process wrote to it: a cheap check before each read, then only what is new. */
import { type Catalogue, catalogue as openCatalogue } from '../resident/catalogue.ts'
import type { Statements } from './connect.ts'
import type { GetRow } from './decisions.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, isIndexed } from './rows.ts'

export interface Head {
  seq: number
  generation: number
}

export interface Followed {
  readonly catalogue: Catalogue
  /** Rows read by the state of the last {@link refresh} or a later one. */
  readonly documents: Recent
  /** Loads what was committed before this call, by any process; returns the newest change and the active generation. */
  refresh(): Promise<Head>
  /** What the resident data is level with; a refresh that is under way may have taken in more. */
  head(): Head
  /** What the catalogue remembers of each file, by id; those taken away too. */
  fileStates(): Map<string, { size: number; mtime: number; hash: string; gone: boolean }>
}

type Row = FieldRow & { num: number; seq: number; gone: number; indexed: number }

/** Rows at a time at the start, and later, when requests are being served. */
const page = 5_000
const step = 500
/** About 10 000 decisions. */
const keptCharacters = 32_000_000

export async function follow({ prepare }: Statements): Promise<Followed> {
  const version = prepare<{ data_version: number }, []>('PRAGMA data_version')
  const headOf = prepare<Head, []>(
    `select (select coalesce(max(seq), 0) from decisions) as seq,
     coalesce((select number from generations where state = 'active'), 0) as generation`,
  )
  const all = prepare<FieldRow & { num: number }, [number, number]>(
    `select d.num, ${fieldColumns} from decisions d where d.num > ? and d.gone = 0 order by d.num limit ?`,
  )
  const changed = prepare<Row, [number, number]>(
    `select d.num, d.seq, d.gone, ${fieldColumns}, ${isIndexed} as indexed
     from decisions d where d.seq > ? order by d.seq limit ?`,
  )
  const withVectors = prepare<{ num: number }, [number]>('select num from embeddings where generation = ?')
  const files = prepare<{ id: string; size: number; mtime: number; hash: string; gone: number }, []>(
    'select id, file_size as size, file_mtime as mtime, file_hash as hash, gone from decisions',
  )

  const catalogue = openCatalogue()
  const documents = recent(keptCharacters)
  const ids = new Map<number, string>()
  let seen = -1
  let head: Head = { seq: 0, generation: 0 }
  let catching: Promise<void> | undefined

  function markIndexed(generation: number): void {
    const nums = new Set(withVectors.all(generation).map(({ num }) => num))
    for (const [num, id] of ids) {
      const fields = catalogue.at(catalogue.slotOf(id)!)!
      const indexed = nums.has(num)
      if (fields.indexed !== indexed) catalogue.put({ ...fields, indexed })
    }
  }

  function takeIn(rows: ReturnType<typeof changed.all>): void {
    for (const row of rows) {
      documents.delete(row.id)
      if (row.gone === 1) {
        catalogue.remove(row.id)
        ids.delete(row.num)
        continue
      }
      catalogue.put(fieldsOfRow(row, row.indexed === 1))
      ids.set(row.num, row.id)
    }
  }

  async function catchUp(): Promise<void> {
    // What is committed after this belongs to the next refresh, which the version will ask for.
    const version_now = version.get()!.data_version
    const next = headOf.get()!
    for (let after = head.seq; after < next.seq; ) {
      const rows = changed.all(after, step)
      takeIn(rows)
      after = rows.at(-1)?.seq ?? next.seq
      if (rows.length === step) await Bun.sleep(0)
    }
    if (next.generation !== head.generation) {
      documents.clear()
      markIndexed(next.generation)
    }
    head = next
    seen = version_now
  }

  let asked: Promise<Head> | undefined
  /** Asking the database takes locks on its files, which costs more than most reads: all reads of one turn of the loop ask once. */
  function refresh(): Promise<Head> {
    asked ??= new Promise(setImmediate).then(() => {
      asked = undefined
      return look()
    })
    return asked
  }

  async function look(): Promise<Head> {
    // One that is under way may have begun before the writes that this caller is to see.
    await catching
    if (version.get()!.data_version === seen) return head
    catching ??= catchUp().finally(() => {
      catching = undefined
    })
    await catching
    return head
  }

  async function load(): Promise<void> {
    const start = headOf.get()!
    const nums = new Set(withVectors.all(start.generation).map(({ num }) => num))
    for (let after = 0; ; ) {
      const rows = all.all(after, page)
      if (rows.length === 0) break
      after = rows.at(-1)!.num
      for (const row of rows) {
        ids.set(row.num, row.id)
        catalogue.put(fieldsOfRow(row, nums.has(row.num)))
      }
      // Each page is a reading of its own, so that the log of other processes' writes can be cleared, and the loop lives.
      await Bun.sleep(0)
    }
    // Rows that changed while this went on have a higher number, and are taken in by the first refresh.
    head = start
  }

  await load()
  await refresh()
  return {
    catalogue,
    documents,
    refresh,
    head: () => head,
    fileStates: () => new Map(files.all().map(({ id, gone, ...state }) => [id, { ...state, gone: gone === 1 }])),
  }
}

export interface Recent {
  get(id: string): GetRow | undefined
  set(id: string, row: GetRow): void
  delete(id: string): void
  clear(): void
}

/** @param most characters of documents that are kept */
export function recent(most: number): Recent {
  // When the young half is full it becomes the old one, and what was not used since the last time goes.
  let young = new Map<string, GetRow>()
  let old = new Map<string, GetRow>()
  let size = 0

  function set(id: string, row: GetRow): void {
    if (size > most / 2) {
      old = young
      young = new Map()
      size = 0
    }
    young.set(id, row)
    size += row.json.length
  }

  return {
    get(id) {
      const known = young.get(id)
      if (known !== undefined) return known
      const older = old.get(id)
      if (older !== undefined) set(id, older)
      return older
    },
    set,
    delete(id) {
      young.delete(id)
      old.delete(id)
    },
    clear() {
      young.clear()
      old.clear()
      size = 0
    },
  }
}
