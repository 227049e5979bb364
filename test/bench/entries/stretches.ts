/** Preloaded into a server: answers at STRETCHES_PORT with the longest stretch of CPU that its event loop worked without a turn since it was last asked, in milliseconds. */
let longest_us = 0
let before = 0

/** Missing in the types. */
const { threadCpuUsage } = process as unknown as { threadCpuUsage(): NodeJS.CpuUsage }

const used = (): number => {
  const { user, system } = threadCpuUsage()
  return user + system
}

function turn(): void {
  const now = used()
  longest_us = Math.max(longest_us, now - before)
  before = now
  setTimeout(turn, 1)
}

// Preloaded into threads too, of which only the first answers.
if (Bun.isMainThread) {
  turn()
  Bun.serve({
    port: Number(process.env.STRETCHES_PORT),
    hostname: '127.0.0.1',
    fetch() {
      const answer = new Response(String(longest_us / 1_000))
      longest_us = 0
      return answer
    },
  })
}
