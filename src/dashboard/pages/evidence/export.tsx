/** The evidence as a file that an outsider can verify without this service. */
import { useRef } from 'preact/hooks'
import type { ExportEvidenceBundleResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { fetchOwn, service } from '../../service.ts'
import { Act, Choice, Empty, Panel } from '../../ui.tsx'

const nameOf = (path: string): string => path.replace(/^.*[\\/]/, '')

/** Fetched by the page, as the cookie alone opens nothing, and handed to the browser as a file. */
async function download(path: string): Promise<void> {
  const response = await fetchOwn(`/evidence/bundles/${nameOf(path)}`)
  if (!response.ok) throw new Error(`The file can not be fetched (HTTP ${response.status}).`)
  const address = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = nameOf(path)
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

export function Export({ mayExport }: { mayExport: boolean }) {
  const form = useRef<HTMLFormElement>(null)
  const { result, error, busy, run, fail } = useJob<ExportEvidenceBundleResult>()
  const submit = (event: Event) => {
    event.preventDefault()
    const format = new FormData(form.current!).get('format') as 'json' | 'pdf' | 'both'
    run(() => service.exportEvidenceBundle({ format }, { timeoutMs: 0 }))
  }
  return (
    <Panel title="Bundle" lead="All evidence with its checkpoint and controls. cstp verify checks it offline." wide>
      {!mayExport ? (
        <Empty>To export a bundle your agent needs the scope evidence.</Empty>
      ) : (
        <form ref={form} onSubmit={submit} class="bar">
          <Choice
            label="Format"
            name="format"
            value="json"
            options={[
              ['json', 'JSON, can be verified'],
              ['pdf', 'PDF, for reading'],
              ['both', 'both'],
            ]}
          />
          <Act busy={busy}>{busy ? 'Exporting …' : 'Export a bundle'}</Act>
        </form>
      )}
      {error !== null && <Failure error={error} />}
      <div role="status">
        {result && (
          <p>
            Exported. SHA-256 <code>{result.bundle_sha256}</code>
          </p>
        )}
      </div>
      {result && (
        <div class="buttons">
          {[result.json_path, result.pdf_path].map(
            (path) =>
              path && (
                <button key={path} type="button" onClick={() => void download(path).catch(fail)}>
                  Download {nameOf(path)}
                </button>
              ),
          )}
        </div>
      )}
    </Panel>
  )
}
