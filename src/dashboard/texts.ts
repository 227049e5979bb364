/** The texts of the frame and of the pages in one language; sentences with figures or links are functions, so that another language can order them. */
import { amount, periods } from './texts/amounts.ts'
import { approvals } from './texts/approvals.ts'
import { breakdown, calibration, diagram, drift, verdict } from './texts/calibration.ts'
import { decision, decisionEvidence, dossier, graph, history, review, thoughts } from './texts/decision.ts'
import { decisions, everyday, filters, search, table } from './texts/decisions.ts'
import { deliberation } from './texts/deliberation.ts'
import { bundle, events, evidence, merkle, proof, verify } from './texts/evidence.ts'
import { call, charts, csv, form, frame, fresh, login, palette, service, titles, ui } from './texts/frame.ts'
import { inbox } from './texts/inbox.ts'
import { outcomes, overview } from './texts/overview.ts'
import { block, breakers, guardrails, judged, trail, tryOut, workbench } from './texts/policy.ts'
import { trust } from './texts/trust.ts'
import { write } from './texts/write.ts'

export const texts = {
  amount,
  periods,
  approvals,
  calibration,
  drift,
  diagram,
  breakdown,
  verdict,
  graph,
  decision,
  dossier,
  review,
  decisionEvidence,
  thoughts,
  history,
  search,
  filters,
  decisions,
  table,
  everyday,
  deliberation,
  events,
  evidence,
  proof,
  verify,
  bundle,
  merkle,
  csv,
  frame,
  login,
  fresh,
  palette,
  service,
  charts,
  call,
  ui,
  form,
  titles,
  inbox,
  outcomes,
  overview,
  block,
  breakers,
  trail,
  workbench,
  tryOut,
  judged,
  guardrails,
  trust,
  write,
}
