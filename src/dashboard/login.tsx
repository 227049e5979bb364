/** The login: an agent's name and token, exchanged for a session. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useJob } from './call.tsx'
import { Act, Field, Form, type Read } from './form.tsx'
import { explain, logIn, type Session } from './service.ts'

export function Login({ note, done }: { note: string | null; done: (session: Session) => void }) {
  const { error, busy, run } = useJob<void>()
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    const { title, activeElement } = document
    document.title = 'Log in · cstp'
    // A screen reader says which page this is, and why it is shown.
    if (note !== null) heading.current?.focus()
    return () => {
      document.title = title
      // To what was being done when a session ended, as soon as it is shown again.
      setTimeout(() => activeElement?.isConnected && (activeElement as HTMLElement).focus())
    }
  }, [])
  const submit = (read: Read, form: HTMLFormElement) =>
    run(async () => {
      try {
        done(await logIn(read('agent'), read('token')))
      } catch (failed) {
        form.querySelector<HTMLInputElement>('[name=token]')?.focus()
        throw failed
      }
    })
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
      <Form submit={submit}>
        <Field label="Agent" name="agent" autocomplete="username" autocapitalize="none" spellcheck={false} required />
        <Field
          label="Token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          aria-invalid={error !== null}
          aria-describedby={error === null ? undefined : 'login-error'}
        />
        {error !== null && (
          <p class="notice bad" id="login-error" role="alert">
            {explain(error)}
          </p>
        )}
        <Act busy={busy} main>
          Log in
        </Act>
      </Form>
      <p class="quiet">
        Agents and tokens are set in <code>CSTP_AUTH_TOKENS</code>. Without this setting the agents are{' '}
        <code>admin</code> and <code>local</code>; their tokens are in the files <code>admin.token</code> and{' '}
        <code>token</code> of the data directory.
      </p>
    </main>
  )
}
