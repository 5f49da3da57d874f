/** Controls but tab and newline, format characters (bidirectional, zero-width), what has no glyph, and halves of surrogate pairs. */
export const INVISIBLE =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- matching such characters is the purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Cf}|\p{Cs}|\p{Co}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0\u2028\u2029\u034f\u17b4\u17b5]/gu;
