/** Settings of the webhook that receives signed notices. */
import { type NoticeKind, noticeKinds } from '../../domain/record/approval/approval.ts'
import { listOf, optional, setting, url, webhookSecret } from './read.ts'

export const webhookSettings = {
  webhook_url: setting(
    'approvals.webhook_url',
    'CSTP_WEBHOOK_URL',
    null,
    optional(url('http', 'https')),
    'Address to which signed notices are sent; redirects are not followed.',
    true,
  ),
  webhook_events: setting<NoticeKind[]>(
    'approvals.webhook_events',
    'CSTP_WEBHOOK_EVENTS',
    ['approvals'],
    listOf(...noticeKinds),
    'Events to send notices for, comma-separated: approvals, breakers that open or close, blocks, drift of an agent.',
  ),
  webhook_secret: setting(
    'approvals.webhook_secret',
    'CSTP_WEBHOOK_SECRET',
    null,
    optional(webhookSecret),
    'Secret that signs the notices (Standard Webhooks): whsec_ followed by 24 to 64 bytes in base64.',
    true,
  ),
}
