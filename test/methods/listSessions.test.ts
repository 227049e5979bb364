/** cstp.listSessions: whose sessions a caller sees, in which order, with which counts. */
import { describe, expect, test } from 'bun:test'
import { openHooks } from '../support/hooks.ts'
import { forEachBackend } from '../support/program.ts'

describe('listSessions', () => {
  forEachBackend((open) => {
    test('your own, the latest first; all of them for an administrator', async () => {
      const program = await open()
      const { bash, event } = openHooks(program)
      await program.rules('- { id: none, action: block, condition_context.command: rm }')
      for (const [at, session_id] of ['first', 'second', 'third'].entries()) {
        await bash('ls', '', { session_id, project: 'acme/shop' })
        program.clock.now += 60_000 * (at + 1)
      }
      await bash('rm', '', { session_id: 'third' })
      await bash('ls', '', { as: 'bob' })
      const { sessions } = await program.call('listSessions')
      expect(sessions.map(({ session_id }) => session_id)).toEqual(['third', 'second', 'first'])
      expect(sessions[0]).toMatchObject({
        agent: 'alice',
        client: 'claude-code',
        project: 'acme/shop',
        cwd: '/srv/shop',
        actions: 1,
        errors: 0,
        verdicts: { allow: 1, deny: 1, step_up: 0, defer: 0, modify: 0 },
        would_block: 0,
        seal: null,
      })
      expect((await program.call('listSessions', { limit: 2 })).sessions).toHaveLength(2)
      const since = sessions[1]!.started_at
      expect((await program.call('listSessions', { since })).sessions).toHaveLength(2)
      expect((await program.call('listSessions', {}, 'root')).sessions).toHaveLength(4)
      expect((await program.call('listSessions', { agent: 'bob' }, 'root')).sessions).toMatchObject([{ agent: 'bob' }])
      expect(await program.refused('listSessions', { agent: 'bob' })).toMatchObject({ error: 'forbidden' })
      await event('SessionEnd', { session_id: 'third' })
      expect((await program.call('listSessions', { limit: 1 })).sessions).toMatchObject([
        { session_id: 'third', seal: { at: expect.any(String), digest: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      ])
    })

    test('a page is as full as it can be, however many sessions others have in between', async () => {
      const program = await open()
      const { event } = openHooks(program)
      await event('SessionStart', { session_id: 'mine' }, { mode: 'shadow' })
      program.clock.now += 1_000
      for (let at = 0; at < 230; at++)
        await event('SessionStart', { session_id: `s${at}` }, { as: 'bob', mode: 'shadow' })
      expect((await program.call('listSessions')).sessions).toMatchObject([{ session_id: 'mine' }])
      expect((await program.call('listSessions', { limit: 500 }, 'bob')).sessions).toHaveLength(230)
    })
  })
})
