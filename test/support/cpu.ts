/** How much work something is, however busy the machine is. */

/** Milliseconds of a processor that this process has used since. */
export function cpuClock(): () => number {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  }
}
