/** The rate limits that servers share: a token bucket a row, by the database's clock. */
import type { Client } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'

/** What is in the bucket `r` at `excluded.at_ms`. */
const available = `least($2::float8, r.tokens + greatest(0, excluded.at_ms - r.at_ms) * $3::float8)`
const granted = `least($4::float8, floor(${available}))`

const leaseSql = `insert into rate_limits as r (agent, tokens, at_ms, granted)
  values ($1, $2::float8 - least($2::float8, $4::float8), extract(epoch from clock_timestamp()) * 1000, least($2::float8, $4::float8))
  on conflict (agent) do update set tokens = ${available} - ${granted}, granted = ${granted},
    at_ms = greatest(r.at_ms, excluded.at_ms)
  returning granted`

/** Takes up to `tokens` from the bucket of an agent; a bucket that is new is full. @returns how many there were */
export const leaser =
  ({ begin }: Client) =>
  async (agent: string, tokens: number, bucket: { per_minute: number; burst: number }): Promise<number> => {
    const rows = await begin((query) =>
      query<{ granted: number }>(leaseSql, [toText(agent), bucket.burst, bucket.per_minute / 60_000, tokens]),
    )
    return rows[0]!.granted
  }
