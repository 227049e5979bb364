/** What the service tells anyone: that it is well, and what it can do. */
import { protocolVersion, serviceName, version } from '../version.ts'

/** @param started_ms when the service started, in milliseconds since 1970 */
export const health = (started_ms: number) => ({
  status: 'ok',
  version,
  agent: serviceName,
  uptime_seconds: Math.floor((Date.now() - started_ms) / 1_000),
  timestamp: new Date().toISOString(),
})

/** The agent card. @param url where the service is reached */
export const card = (url: string) => ({
  name: serviceName,
  description: 'Decision memory for software agents: precedents, policy, calibration and evidence.',
  version,
  url,
  capabilities: [
    'queryDecisions',
    'checkGuardrails',
    'recordDecision',
    'reviewDecision',
    'getCalibration',
    'getDecision',
    'getReasonStats',
  ],
  protocol: 'cstp',
  protocolVersion,
})
