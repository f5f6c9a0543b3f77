// Errors that readers are told in their language.

/** An error that is told by a sentence of the locale files; `message` is for logs. */
export class Told extends Error {
  constructor(path, parts, message = `${path} ${JSON.stringify(parts)}`) {
    super(message);
    this.told = { path, parts };
  }
}

/** What an error says, as part of a sentence. */
export const reason = (error) => String(error?.message ?? error).replace(/\.$/, "");
