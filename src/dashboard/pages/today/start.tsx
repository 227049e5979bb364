/** The first steps of a service without decisions, each with its command to copy. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts.ts'
import { Panel } from '../../ui.tsx'

const t = texts.today

export function Start() {
  const [copied, setCopied] = useState<string | null>(null)
  const copy = (command: string) =>
    void navigator.clipboard?.writeText(command).then(
      () => setCopied(command),
      // Without the permission the command is still there to be selected.
      () => setCopied(null),
    )
  return (
    <Panel title={t.start} wide>
      <ol class="steps">
        {t.steps.map(([text, command]) => (
          <li key={command}>
            <p>{text}</p>
            <p class="actions">
              <code>{command}</code>
              <button type="button" aria-label={`${t.copy} ${command}`} onClick={() => copy(command!)}>
                {t.copy}
              </button>
              <span class="quiet" role="status">
                {copied === command && t.copied}
              </span>
            </p>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
