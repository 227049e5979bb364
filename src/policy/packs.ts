/** The shipped packs of rules about commands, as files. */
import irreversible from '../../guardrails/packs/irreversible.yaml' with { type: 'text' }
import { packFile, type RulePack } from '../domain/policy/rules/packs.ts'
import type { PolicyFile } from '../domain/policy/rules/set.ts'

/** Text of each pack. A test compares them with the folder. */
export const packTexts: Readonly<Record<RulePack, string>> = { irreversible }

/** The files of packs. Rules of the operator with the same id replace theirs, as they do with all shipped rules. */
export const packFiles = (packs: readonly RulePack[]): PolicyFile[] =>
  [...new Set(packs)].map((pack) => ({ name: packFile(pack), text: packTexts[pack], shipped: true }))
