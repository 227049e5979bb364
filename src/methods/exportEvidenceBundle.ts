/** cstp.exportEvidenceBundle: exports the evidence as files that an outsider can verify. */
import * as v from 'valibot'
import { CstpError, invalidParam } from '../../sdk/errors.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { Coverage } from '../../sdk/schema/evidence.ts'
import { isStorageError } from '../../sdk/storage/errors.ts'
import { defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { audit } from '../core/audit.ts'
import { exportBundle, exportFormats } from '../domain/ledger/evidence/export.ts'

const d = v.description

/** A random identifier. @see RFC 9562, version 4 */
function uuid(hex: string): string {
  const variant = (8 + (Number.parseInt(hex[16]!, 16) % 4)).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

const broken = (data: Record<string, unknown>, cause?: unknown): CstpError =>
  new CstpError(
    'internal_error',
    'The evidence chain is not intact, so no bundle is created; cstp.verifyEvidenceChain reports the damage',
    { chain_intact: false, ...data },
    { cause },
  )

/** Reports damage found while the bundle is being written in the same way as damage found before. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isStorageError(error, 'corrupt') ? broken({}, error) : error
  }
}

async function targetOf(call: Call, format: (typeof exportFormats)[number], output_dir: string | undefined) {
  const prints = format === 'pdf' || format === 'both'
  const printer = prints ? await call.openPrinter() : null
  if (prints && printer === null)
    throw invalidParam(
      'format',
      'json: this build has no PDF library (the optional package pdfmake is not installed)',
      format,
    )
  const folder = await call.bundles.folder(output_dir)
  if (folder === null)
    throw invalidParam(
      'output_dir',
      'a folder inside the folder of bundles, without .. and without links',
      output_dir ?? '',
    )
  return { printer, folder }
}

export const exportEvidenceBundle = defineMethod({
  summary:
    'Exports the evidence, its signed checkpoint and the control mappings as a bundle that can be verified offline (JSON, PDF or both), or the mappings as OSCAL.',
  params: v.object({
    format: v.pipe(
      v.optional(v.picklist(exportFormats), 'json'),
      d(
        'JSON can be verified; PDF is for reading and needs an optional library; `oscal` is the control mappings as OSCAL 1.2.1 assessment results.',
      ),
    ),
    output_dir: v.optional(
      v.pipe(nonEmptyText(1_024), d('Subfolder, relative to the folder of bundles; created if it does not exist.')),
    ),
  }),
  result: v.object({
    json_path: v.pipe(v.nullable(v.string()), d('Absolute path of the JSON bundle; null if not requested.')),
    pdf_path: v.pipe(v.nullable(v.string()), d('Absolute path of the PDF; null if not requested.')),
    oscal_path: v.pipe(v.nullable(v.string()), d('Absolute path of the OSCAL document; null if not requested.')),
    bundle_sha256: v.pipe(
      v.string(),
      d('SHA-256 of the JSON bundle, lowercase hex; of the other file if there is no JSON.'),
    ),
    chain_head_hash: v.pipe(
      v.string(),
      d('Hash of the last event in the bundle. The service stores it to detect a truncated chain later.'),
    ),
    chain_intact: v.pipe(v.boolean(), d('Always true: no bundle is created from a damaged chain.')),
    coverage: Coverage,
    insufficient_evidence_count: v.pipe(
      v.number(),
      d('Number of cases in which an event did not support a control that it should support.'),
    ),
    attested_only_controls: v.pipe(v.array(v.string()), d('Controls supported only by attested evidence, ascending.')),
  }),
  scope: 'evidence',
  effect: 'write',
  cost: 64,
  async handle(call, { format, output_dir }) {
    const { printer, folder } = await targetOf(call, format, output_dir)
    const { intact, broken_at_seq, reason } = await call.chain.verify(null)
    if (!intact) throw broken({ broken_at_seq, reason })
    const bundle_id = uuid(call.randomHex(16))
    const facts = {
      bundle_id,
      service_version: call.service_version,
      policy_hash: (await call.policy.current()).hash,
      verifier_key: call.signer.verifier_key,
    }
    const { evidence, checkpoints, controls, yieldToEventLoop, bundles: files } = call
    const { decisions, audit: trail } = call.store
    const sign = (text: string) => call.signer.sign(text)
    const sources = { evidence, checkpoints, controls, yieldToEventLoop, files, decisions, audit: trail, sign }
    // The wall clock has milliseconds; the fraction comes from a monotonic clock.
    const now_ms = call.now() + (call.elapsed() % 1)
    const { bundle, json, pdf, oscal } = await refusing(
      exportBundle({ ...sources, folder, format, printer, now_ms, facts }),
    )
    const { head, mapped } = bundle
    const bundle_sha256 = (json ?? pdf ?? oscal)!.sha256
    try {
      const detail = { format, bundle_id, bundle_sha256, events: head.size, chain_head_hash: head.head_hash }
      await call.store.transaction((tx) => audit(call, tx, [], detail))
    } catch (error) {
      // No bundle may exist without its audit entry.
      await files.remove([json, pdf, oscal].flatMap((one) => one?.path ?? []))
      throw error
    }
    return {
      json_path: json?.path ?? null,
      pdf_path: pdf?.path ?? null,
      oscal_path: oscal?.path ?? null,
      bundle_sha256,
      chain_head_hash: head.head_hash,
      chain_intact: true,
      coverage: mapped.coverage,
      insufficient_evidence_count: mapped.insufficient_evidence_count,
      attested_only_controls: mapped.attested_only_controls,
    }
  },
})
