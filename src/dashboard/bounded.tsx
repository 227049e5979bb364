/** Long texts that open. */
import type { ComponentChildren } from 'preact'
import { whole } from './figures.ts'
import { texts } from './texts.ts'
import { prose } from './ui.tsx'

/** A text whose first lines are shown until it is opened, so that what follows it stays in sight; a short one is shown as it is. */
export const Bounded = ({ text, children }: { text: string; children: ComponentChildren }) =>
  text.length > 300 || text.split('\n').length > 3 ? (
    <details class="clamped">
      <summary>
        {children}
        <span class="rest">{texts.ui.all(whole(text.length))}</span>
      </summary>
    </details>
  ) : (
    children
  )

export const bounded = (text: string | undefined) => text && <Bounded text={text}>{prose(text)}</Bounded>
