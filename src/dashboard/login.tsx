/** The login: an agent's name and token, exchanged for a session. */
import { useRef, useState } from 'preact/hooks'
import { logIn, type Session } from './service.ts'

export function Login({ note, done }: { note: string | null; done: (session: Session) => void }) {
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const submit = (event: Event) => {
    event.preventDefault()
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
      <h1>Log in to cstp</h1>
      {note && <p role="status">{note}</p>}
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
        <button type="submit" class="main" disabled={busy}>
          Log in
        </button>
      </form>
      <p class="quiet">
        Agents and tokens stand in <code>CSTP_AUTH_TOKENS</code>. Without them the agent is <code>local</code> and its
        token lies in the file <code>token</code> of the data directory.
      </p>
    </main>
  )
}
