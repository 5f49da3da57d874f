/** A part of a text, the end not included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
