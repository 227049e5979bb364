/** Sentences with parts that a page shows as links, as code or as terms: functions, so that another language can order them. */
import type { ComponentChildren } from 'preact'

/** A part that a page inserts into a sentence. */
export type Part = ComponentChildren
/** Renders words of a sentence. */
export type Mark = (text: string) => Part
