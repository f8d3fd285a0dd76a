/** A piece of text that a request holds: a message, a text block, a tool call or the result of one. */
export type Piece = { role: string; text: string };

/** A request to a model, as the pieces of text that the model is shown, oldest first. */
export type Shown = { pieces: readonly Piece[] };

/**
 * For each request, in order, the pieces that the request before it did not hold. A piece that is there twice
 * where it was once before counts as new once. Of the first request all pieces are new.
 */
export function newTexts(requests: readonly Shown[]): Piece[][] {
  return requests.map(({ pieces }, index) => {
    const known = (requests[index - 1]?.pieces ?? []).map(keyOf);
    return pieces.filter((piece) => {
      const at = known.indexOf(keyOf(piece));
      if (at >= 0) known.splice(at, 1);
      return at < 0;
    });
  });
}

/**
 * How often each request newly shows the model `text`, in whatever role or place: `[0, 1, 0]` is "in the second
 * request, once, and never again". What the model said itself does not count.
 */
export function timesShown(requests: readonly Shown[], text: string): number[] {
  return newTexts(requests).map((pieces) =>
    pieces
      .filter((piece) => piece.role !== "assistant")
      .reduce((count, piece) => count + piece.text.split(text).length - 1, 0),
  );
}

function keyOf({ role, text }: Piece): string {
  return `${role}\n${text.trim()}`;
}
