/** The first steps of a service without decisions, each with its command to copy. */
import { Copy } from '../../copy.tsx'
import { texts } from '../../texts.ts'
import { Panel } from '../../ui.tsx'

const t = texts.today

export const Start = () => (
  <Panel title={t.start}>
    <ol class="steps">
      {t.steps.map(([text, command]) => (
        <li key={command}>
          <p>{text}</p>
          <p class="actions">
            <code>{command}</code>
            <Copy text={command!} label={`${t.copy} ${command}`}>
              {t.copy}
            </Copy>
          </p>
        </li>
      ))}
    </ol>
  </Panel>
)
