/** The login: an agent's name and token, exchanged for a session. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { logIn, type Session } from './service.ts'
import { Act } from './ui.tsx'

export function Login({ note, done }: { note: string | null; done: (session: Session) => void }) {
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Log in · cstp'
    // Who was sent here hears where they are, and why.
    if (note !== null) heading.current?.focus()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    if (busy) return
    const data = new FormData(form.current!)
    setBusy(true)
    logIn(String(data.get('agent')), String(data.get('token')))
      .then(done, (failed: Error) => {
        setError(failed.message)
        form.current?.querySelector<HTMLInputElement>('[name=token]')?.focus()
      })
      .finally(() => setBusy(false))
  }
  return (
    <main class="login" id="main">
      <h1 ref={heading} tabIndex={-1} aria-describedby={note === null ? undefined : 'login-note'}>
        Log in to cstp
      </h1>
      {note && (
        <p class="notice" id="login-note">
          {note}
        </p>
      )}
      <form ref={form} onSubmit={submit}>
        <label class="field">
          <span>Agent</span>
          <input name="agent" autocomplete="username" autocapitalize="none" spellcheck={false} required />
        </label>
        <label class="field">
          <span>Token</span>
          <input
            name="token"
            type="password"
            autocomplete="current-password"
            required
            aria-invalid={error !== null}
            aria-describedby={error === null ? undefined : 'login-error'}
          />
        </label>
        {error && (
          <p class="notice bad" id="login-error" role="alert">
            {error}
          </p>
        )}
        <Act busy={busy} main>
          Log in
        </Act>
      </form>
      <p class="quiet">
        Agents and tokens stand in <code>CSTP_AUTH_TOKENS</code>. Without them the agent is <code>local</code> and its
        token lies in the file <code>token</code> of the data directory.
      </p>
    </main>
  )
}
