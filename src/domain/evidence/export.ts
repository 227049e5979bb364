/** An export: the bundle of the current chain, as JSON for programs and as PDF for people. */
import { type Bundle, type BundleSources, bundleText, prepareBundle } from './bundle.ts'
import type { Checkpoints } from './checkpoints.ts'
import { reportDocument } from './report/report.ts'
import type { BundleFiles, NewFile, Printer, Written } from './report/text.ts'

type ExportFormat = 'json' | 'pdf' | 'both'

interface ExportOptions extends BundleSources {
  checkpoints: Checkpoints
  files: BundleFiles
  /** Absolute path of the folder, as `files.folder` returned it. */
  folder: string
  format: ExportFormat
  /** Required unless the format is JSON. */
  printer: Printer | null
  /** Milliseconds since 1970, with three decimals: names of files hold microseconds. */
  now_ms: number
  facts: Omit<Bundle, 'head' | 'mapped' | 'decisions' | 'generated_at'>
}

export interface Exported {
  bundle: Bundle
  json: Written | null
  pdf: Written | null
}

/** `evidence-<time>-<id>`: the time in UTC to the microsecond, without characters that some file systems refuse. */
function bundleName(now_ms: number, bundle_id: string): string {
  const [whole, micros] = [Math.floor(now_ms), Math.floor((now_ms % 1) * 1_000)]
  const time = new Date(whole).toISOString().replace(/[-:Z]/g, '') + String(micros).padStart(3, '0')
  return `evidence-${time}Z-${bundle_id}`
}

/** @throws StorageError `corrupt` if the chain is not intact; no file is left behind then */
export async function exportBundle(options: ExportOptions): Promise<Exported> {
  const { files, folder, format, printer, facts, now_ms } = options
  const head = await options.checkpoints.latest()
  const generated_at = new Date(now_ms).toISOString()
  const bundle = await prepareBundle(options, head, { ...facts, generated_at })
  const name = bundleName(now_ms, facts.bundle_id)
  const json: NewFile = { name: `${name}.json`, content: () => bundleText(bundle, options) }
  const pdf: NewFile = {
    name: `${name}.pdf`,
    async *content([beside]) {
      const other = beside ? { name: json.name, sha256: beside.sha256 } : null
      // Without a JSON bundle the events were not checked yet.
      if (!beside) for await (const _ of bundleText(bundle, options));
      yield await printer!.print(await reportDocument(bundle, options, printer!, other))
    },
  }
  const wanted = format === 'both' ? [json, pdf] : [format === 'json' ? json : pdf]
  const written = await files.write(folder, wanted)
  await options.checkpoints.exported(head)
  return {
    bundle,
    json: format === 'pdf' ? null : written[0]!,
    pdf: format === 'json' ? null : written.at(-1)!,
  }
}
