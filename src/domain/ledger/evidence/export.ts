/** An export: the bundle of the current chain, as JSON for programs and as PDF for people; or its conclusions as OSCAL. */

import type { Checkpoints } from '../engine/checkpoints.ts'
import { type Bundle, type BundleSources, bundleText, prepareBundle } from './bundle.ts'
import { oscalResults } from './oscal.ts'
import { reportDocument } from './report/report.ts'
import type { BundleFiles, NewFile, Printer, Written } from './report/text.ts'

export const exportFormats = ['json', 'pdf', 'both', 'oscal'] as const
type ExportFormat = (typeof exportFormats)[number]

interface ExportOptions extends BundleSources {
  checkpoints: Checkpoints
  files: BundleFiles
  /** Absolute path of the folder, as `files.folder` returned it. */
  folder: string
  format: ExportFormat
  /** Required for PDF. */
  printer: Printer | null
  /** Milliseconds since 1970, with three decimals: file names contain microseconds. */
  now_ms: number
  facts: Omit<Bundle, 'head' | 'mapped' | 'decisions' | 'generated_at'>
}

export interface Exported {
  bundle: Bundle
  json: Written | null
  pdf: Written | null
  oscal: Written | null
}

/** `evidence-<time>-<id>`: the time in UTC to the microsecond, without characters that some file systems refuse. */
function bundleName(now_ms: number, bundle_id: string): string {
  const [whole, micros] = [Math.floor(now_ms), Math.floor((now_ms % 1) * 1_000)]
  const time = new Date(whole).toISOString().replace(/[-:Z]/g, '') + String(micros).padStart(3, '0')
  return `evidence-${time}Z-${bundle_id}`
}

/** @throws StorageError `corrupt` if the chain is not intact; then no file is left behind */
export async function exportBundle(options: ExportOptions): Promise<Exported> {
  const { files, folder, format, printer, facts, now_ms } = options
  const head = await options.checkpoints.latest()
  const generated_at = new Date(now_ms).toISOString()
  const bundle = await prepareBundle(options, head, { ...facts, generated_at })
  const name = bundleName(now_ms, facts.bundle_id)
  // Without a JSON bundle the events have not been checked yet.
  const check = async () => {
    for await (const _ of bundleText(bundle, options));
  }
  const json: NewFile = { name: `${name}.json`, content: () => bundleText(bundle, options) }
  const pdf: NewFile = {
    name: `${name}.pdf`,
    async *content([beside]) {
      const other = beside ? { name: json.name, sha256: beside.sha256 } : null
      if (!beside) await check()
      yield await printer!.print(await reportDocument(bundle, options, printer!, other))
    },
  }
  const oscal: NewFile = {
    name: `${name}.oscal.json`,
    async *content() {
      await check()
      const [first] = head.size === 0 ? [] : await options.evidence.read(1, 1)
      yield `${JSON.stringify(oscalResults(bundle, options.controls, first?.ts ?? null), null, 2)}\n`
    },
  }
  const wanted = { json: [json], pdf: [pdf], both: [json, pdf], oscal: [oscal] }[format]
  const written = await files.write(folder, wanted)
  await options.checkpoints.exported(head)
  const of = (file: NewFile): Written | null => written[wanted.indexOf(file)] ?? null
  return { bundle, json: of(json), pdf: of(pdf), oscal: of(oscal) }
}
