/** The login: an agent's name and token, exchanged for a session. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useJob } from './call.tsx'
import { Act, Field, Form, type Read } from './form.tsx'
import { explain, logIn, loginAtIssuer, type Session } from './service.ts'
import { texts } from './texts.ts'
import { code } from './ui.tsx'

const t = texts.login

export function Login({ note, done }: { note: string | null; done: (session: Session) => void }) {
  const { error, busy, run } = useJob<void>()
  const heading = useRef<HTMLHeadingElement>(null)
  const issuer = loginAtIssuer()
  useLayoutEffect(() => {
    const { title, activeElement } = document
    document.title = `${t.title} · cstp`
    // So that a screen reader announces which page this is, and why it is shown.
    if (note !== null) heading.current?.focus()
    return () => {
      document.title = title
      // Back to the element that had the focus when the session ended, as soon as it is visible again.
      setTimeout(() => activeElement?.isConnected && (activeElement as HTMLElement).focus())
    }
  }, [])
  const submit = (read: Read, form: HTMLFormElement) =>
    run(async () => {
      try {
        done(await logIn({ agent: read('agent'), token: read('token') }))
      } catch (failed) {
        form.querySelector<HTMLInputElement>('[name=token]')?.focus()
        throw failed
      }
    })
  return (
    <main class="login" id="main">
      <h1 ref={heading} tabIndex={-1} aria-describedby={note === null ? undefined : 'login-note'}>
        {t.heading}
      </h1>
      {note && (
        <p class="notice" id="login-note">
          {note}
        </p>
      )}
      {issuer !== null && (
        <p>
          <a class="button main" href={`${issuer}?return=${encodeURIComponent(location.pathname + location.search)}`}>
            {t.atIssuer}
          </a>
        </p>
      )}
      <Form submit={submit}>
        <Field label={t.agent} name="agent" autocomplete="username" autocapitalize="none" spellcheck={false} required />
        <Field
          label={t.token}
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
          {t.title}
        </Act>
      </Form>
      <p class="quiet">{t.help(code)}</p>
    </main>
  )
}
