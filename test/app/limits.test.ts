/** The limits that the settings give: no more than they say, from the first request on. */
import { expect, test } from 'bun:test'
import { loadSettings } from '../../src/app/config/config.ts'
import { createLimits } from '../../src/app/routes.ts'

const log = Object.assign(() => {}, { flush() {} })

test.each([1, 60, 99, 600, 6_000])(
  '%d requests per minute let no more than that many through at once',
  async (limit) => {
    const { settings } = await loadSettings({
      env: { CSTP_RATE_LIMIT: String(limit) },
      flags: {},
      readFile: async () => '',
    })
    const { requests } = createLimits(settings, log, { authFailure() {} })
    let passed = 0
    while ((await requests.take('alice', 1)) === 0 && passed <= limit) passed++
    expect(passed).toBeGreaterThan(0)
    expect(passed).toBeLessThanOrEqual(limit)
    // Waiting helps nobody whose batch is larger than the limit ever allows.
    expect(await requests.take('bob', limit + 1)).toBe(Number.POSITIVE_INFINITY)
  },
)
