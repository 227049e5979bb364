/** The guardrails that come with the program, as part of it. */
import defaults from '../../guardrails/default.yaml' with { type: 'text' }
import dataProtection from '../../guardrails/templates/data-protection.yaml' with { type: 'text' }
import financialLimits from '../../guardrails/templates/financial-limits.yaml' with { type: 'text' }
import productionSafety from '../../guardrails/templates/production-safety.yaml' with { type: 'text' }
import secrets from '../../guardrails/templates/secrets.yaml' with { type: 'text' }

/** Rules in force where no directory is named. */
export const shippedRules = [{ name: 'guardrails/default.yaml', text: defaults }]

/** Templates by name; any file may name them. A test compares them with the folder. */
export const shippedTemplates: Readonly<Record<string, string>> = {
  'data-protection': dataProtection,
  'financial-limits': financialLimits,
  'production-safety': productionSafety,
  secrets,
}
