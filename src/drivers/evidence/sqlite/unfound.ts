/** Looks for records that the tables beside the log no longer find: an approval that was dismissed would count again at the next merge. */
import { openReader } from './connect.ts'
import { fields } from './lookup.ts'
import { prNumber } from './read.ts'

/** Bounds instead of LIKE, so that only the source is compared; the payload of what was changed past the program may be no JSON. */
const unfoundByKey = `select min(e.seq) as seq from events e join json_each(?) f on true
  where e.source >= 'webhook:' and e.source < 'webhook;' and json_valid(e.payload)
    and json_type(e.payload, '$.' || f.value) in ('text', 'integer', 'real')
    and not exists (select 1 from webhook_keys k
      where k.field = f.value and k.value = json_extract(e.payload, '$.' || f.value) and k.seq = e.seq)`

const unfoundByNumber = `select min(e.seq) as seq from events e where e.seq <= (select seq from indexed) and ${prNumber('e.payload')} is not null
  and not exists (select 1 from pull_requests p where p.pr_number = ${prNumber('e.payload')} and p.seq = e.seq)`

/** Records that are said to be indexed before they are there never will be. */
const ahead = `select seq from indexed where seq > (select coalesce(max(seq), 0) from events)`

/** The first record that is not found by what its payload holds; null where each is. Reads the whole log. */
export function firstUnfound(path: string): number | null {
  const db = openReader(path)
  try {
    const rows = [
      db.query<{ seq: number | null }, [string]>(unfoundByKey).get(JSON.stringify(fields)),
      db.query<{ seq: number | null }, []>(unfoundByNumber).get(),
      db.query<{ seq: number | null }, []>(ahead).get(),
    ]
    const found = rows.flatMap((row) => row?.seq ?? [])
    return found.length === 0 ? null : Math.min(...found)
  } finally {
    db.close()
  }
}
