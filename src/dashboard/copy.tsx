/** A button that copies a text, and says so. */
import { useState } from 'preact/hooks'
import { texts } from './texts.ts'

export function Copy({ text, label, children }: { text: string; label?: string; children: string }) {
  const [copied, setCopied] = useState<string | null>(null)
  const copy = () =>
    void navigator.clipboard?.writeText(text).then(
      () => setCopied(text),
      // Without the permission the text is still there to be selected.
      () => setCopied(null),
    )
  return (
    <>
      <button type="button" aria-label={label} onClick={copy}>
        {children}
      </button>
      <span class="quiet" role="status">
        {copied === text && texts.copied}
      </span>
    </>
  )
}
