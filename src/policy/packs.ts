/** The shipped packs of rules about commands, as files. */
import cloud from '../../guardrails/packs/cloud.yaml' with { type: 'text' }
import containers from '../../guardrails/packs/containers.yaml' with { type: 'text' }
import database from '../../guardrails/packs/database.yaml' with { type: 'text' }
import git from '../../guardrails/packs/git.yaml' with { type: 'text' }
import irreversible from '../../guardrails/packs/irreversible.yaml' with { type: 'text' }
import kubernetes from '../../guardrails/packs/kubernetes.yaml' with { type: 'text' }
import packages from '../../guardrails/packs/packages.yaml' with { type: 'text' }
import production from '../../guardrails/packs/production.yaml' with { type: 'text' }
import secrets from '../../guardrails/packs/secrets.yaml' with { type: 'text' }
import { packFile, type RulePack } from '../domain/policy/rules/packs.ts'
import type { PolicyFile } from '../domain/policy/rules/set.ts'
import type { Packs } from './places.ts'

/** Text of each pack. A test compares them with the folder. */
export const packTexts: Readonly<Record<RulePack, string>> = {
  irreversible,
  git,
  database,
  cloud,
  kubernetes,
  containers,
  packages,
  secrets,
  production,
}

/** The files of packs. Rules of the operator with the same id replace theirs, as they do with all shipped rules. */
export const packFiles = ({ packs = [], inherited }: Packs): PolicyFile[] =>
  [...new Set(packs)].map((pack) => ({
    ...{ name: packFile(pack), text: packTexts[pack], shipped: true },
    inherited: inherited?.packs.includes(pack) ?? false,
  }))
