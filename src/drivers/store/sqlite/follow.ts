/** Keeps resident data level with the database, whichever process wrote to it: a cheap check before each read, then only what is new. */
import { type Resident, resident } from '../resident/resident.ts'
import type { Statements } from './connect.ts'
import type { GetRow } from './decisions.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, isIndexed, termsOfRow } from './rows.ts'

export interface Head {
  seq: number
  generation: number
}

export interface Followed {
  readonly memory: Resident
  /** Rows read by the state of the last {@link refresh} or a later one. */
  readonly documents: Recent
  /** Loads what was committed before this call, by any process; returns the newest change and the active generation. */
  refresh(): Promise<Head>
  /** What the resident data is level with; a refresh that is under way may have taken in more. */
  head(): Head
  /** What the catalogue remembers of each file, by id; those taken away too. */
  fileStates(): Map<string, { size: number; mtime: number; hash: string; gone: boolean }>
}

interface WordsRow {
  length: number
  pairs: Uint8Array
}
type Row = FieldRow & { num: number; seq: number } & (WordsRow | { length: null; pairs: null })

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
  const newWords = prepare<{ number: number; word: string }, [number]>(
    'select number, word from words where number > ? order by number',
  )
  const all = prepare<FieldRow & WordsRow & { num: number }, [number, number]>(
    `select d.num, ${fieldColumns}, k.length, k.pairs from decisions d join keywords k on k.num = d.num
     where d.num > ? and d.gone = 0 order by d.num limit ?`,
  )
  const changed = prepare<Row & { gone: number; indexed: number }, [number, number, number]>(
    `select d.num, d.seq, d.gone, ${fieldColumns}, ${isIndexed} as indexed, k.length, k.pairs
     from decisions d left join keywords k on k.num = d.num and k.words_seq > ?
     where d.seq > ? order by d.seq limit ?`,
  )
  const wordsOf = prepare<WordsRow, [number]>('select length, pairs from keywords where num = ?')
  const withVectors = prepare<{ num: number }, [number]>('select num from embeddings where generation = ?')
  const files = prepare<{ id: string; size: number; mtime: number; hash: string; gone: number }, []>(
    'select id, file_size as size, file_mtime as mtime, file_hash as hash, gone from decisions',
  )

  const memory = resident()
  const documents = recent(keptCharacters)
  const ids = new Map<number, string>()
  let lastWord = 0
  let seen = -1
  let head: Head = { seq: 0, generation: 0 }
  let catching: Promise<void> | undefined

  function addNewWords(): void {
    for (const { number, word } of newWords.all(lastWord)) {
      memory.addWord(word, number)
      lastWord = number
    }
  }

  function markIndexed(generation: number): void {
    const nums = new Set(withVectors.all(generation).map(({ num }) => num))
    for (const [num, id] of ids) {
      const fields = memory.catalogue.at(memory.catalogue.slotOf(id)!)!
      const indexed = nums.has(num)
      if (fields.indexed !== indexed) memory.put({ ...fields, indexed }, null)
    }
  }

  function takeIn(rows: ReturnType<typeof changed.all>): void {
    for (const row of rows) {
      documents.delete(row.id)
      if (row.gone === 1) {
        memory.remove(row.id)
        ids.delete(row.num)
        continue
      }
      // Words that did not change are left where they are; one that came back has none in memory any more.
      const words = row.pairs !== null ? row : ids.has(row.num) ? null : wordsOf.get(row.num)
      memory.put(fieldsOfRow(row, row.indexed === 1), words && termsOfRow(words))
      ids.set(row.num, row.id)
    }
  }

  async function catchUp(): Promise<void> {
    // What is committed after this belongs to the next refresh, which the version will ask for.
    const version_now = version.get()!.data_version
    const next = headOf.get()!
    addNewWords()
    for (let after = head.seq; after < next.seq; ) {
      const rows = changed.all(head.seq, after, step)
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
    addNewWords()
    const nums = new Set(withVectors.all(start.generation).map(({ num }) => num))
    const loaded: Parameters<Resident['load']>[0][number][] = []
    for (let after = 0; ; ) {
      const rows = all.all(after, page)
      if (rows.length === 0) break
      after = rows.at(-1)!.num
      for (const row of rows) {
        ids.set(row.num, row.id)
        loaded.push({ fields: fieldsOfRow(row, nums.has(row.num)), terms: termsOfRow(row) })
      }
      // Each page is a reading of its own, so that the log of other processes' writes can be cleared, and the loop lives.
      await Bun.sleep(0)
    }
    memory.load(loaded)
    // Rows that changed while this went on have a higher number, and are taken in by the first refresh.
    head = start
  }

  await load()
  await refresh()
  return {
    memory,
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
