/** Export of the evidence as a file that can be verified without this service. */
import type { ExportEvidenceBundleResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { saveFile } from '../../csv.tsx'
import { Act, Choice, Form, type Read } from '../../form.tsx'
import { useView } from '../../route.tsx'
import { fetchOwn, service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Empty, Panel } from '../../ui.tsx'

const t = texts.bundle

const nameOf = (path: string): string => path.replace(/^.*[\\/]/, '')

/** Fetched by the page and saved as a file, because a plain link does not send the dashboard's header. */
async function download(path: string): Promise<void> {
  const response = await fetchOwn(`/evidence/bundles/${nameOf(path)}`)
  if (!response.ok) throw new Error(t.notFetched(response.status))
  saveFile(nameOf(path), await response.blob())
}

export function Export() {
  const { may } = useView()
  const { result, error, busy, run, fail } = useJob<ExportEvidenceBundleResult>()
  const submit = (read: Read) =>
    run(() => service.exportEvidenceBundle({ format: read('format') as 'json' | 'pdf' | 'both' }, { timeoutMs: 0 }))
  return (
    <Panel title={t.title} lead={t.lead}>
      {!may('evidence') ? (
        <Empty>{t.needsEvidence}</Empty>
      ) : (
        <Form submit={submit} class="bar">
          <Choice label={t.format} name="format" value="json" options={[['json', t.json], ['pdf', t.pdf], 'both']} />
          <Act busy={busy}>{busy ? 'Exporting …' : t.start}</Act>
        </Form>
      )}
      {error !== null && <Failure error={error} />}
      <div role="status">
        {result && (
          <p>
            {t.exported} <code>{result.bundle_sha256}</code>
          </p>
        )}
      </div>
      {result && (
        <div class="buttons">
          {[result.json_path, result.pdf_path].map(
            (path) =>
              path && (
                <button key={path} type="button" onClick={() => void download(path).catch(fail)}>
                  {t.download(nameOf(path))}
                </button>
              ),
          )}
        </div>
      )}
    </Panel>
  )
}
