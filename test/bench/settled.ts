/** Waits until a server has nothing left to do: its search index is complete, and its process takes next to no CPU for some seconds. */
import type { Child } from './process.ts'

const pauseMs = 700
/** So many pauses in a row with less CPU than this count as quiet. */
const pauses = 3
const quietSeconds = 0.05

/** Whether each of the servers says that its index lacks nothing. */
async function isComplete({ urls }: Pick<Child, 'urls'>, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` }
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`, { headers })).text()))
  return texts.every(isCompleteBy)
}

/** What the metrics of a server say of its index. */
export function isCompleteBy(metrics: string): boolean {
  const gauge = (name: string) =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    )
  const part = (name: string) => gauge(`cstp_search_index{part="${name}"}`)
  return part('building') === 0 && part('indexed') === part('decisions') && gauge('cstp_outbox_depth') === 0
}

/** @param token that may read the metrics */
export async function settled(child: Pick<Child, 'urls' | 'cpuSeconds'>, token: string): Promise<void> {
  for (let quiet = 0, last = child.cpuSeconds(); quiet < pauses; ) {
    await Bun.sleep(pauseMs)
    const now = child.cpuSeconds()
    quiet = now - last > quietSeconds ? 0 : quiet + 1
    // Being asked takes CPU of its own.
    if (quiet === pauses && !(await isComplete(child, token))) quiet = 0
    last = child.cpuSeconds()
  }
}
