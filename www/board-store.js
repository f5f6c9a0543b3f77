// What the board measured, kept in this browser: one entry a measurement, so that pages that measure at once
// never write over each other's. What is on the reader's own text stays with the tab, as the text does.

/** The number is the version of the records (src/experiment/board/kept.rs). */
const VERSION = 2;
const PREFIX = `longview-board-${VERSION} `;
/** Where all results were one entry, which the last page to write won. */
const OLD = "longview-board";
const NAMES = ["localStorage", "sessionStorage"];
/** The text is the third word of a task's key. */
const isOwn = (key) => /^\S+ \S+ own /.test(key);
const storageOf = (key) => (isOwn(key) ? sessionStorage : localStorage);

const isSame = (a, b) => a.m === b.m && a.t === b.t;
/** Whether a record is worth more than another: of another model or text, or with more steps done. */
const isFurther = (record, than) => !than || !isSame(record, than) || record.d > than.d;

export class BoardStore {
  /** @param {(records: Record<string, Record<string, any>>, gone: string[]) => void} changed what other pages measured and forgot */
  constructor(changed) {
    /** Whether this browser keeps what is measured; false once it did not. */
    this.isKept = storages().length === NAMES.length;
    /** @type {Map<string, {d: number, m: string, t?: string}>} all that is known, by the tasks' keys */
    this.records = new Map();
    this.changed = changed;
    for (const storage of storages()) this.read(storage);
    addEventListener("storage", ({ key, newValue }) => this.hear(key, newValue));
  }

  read(storage) {
    try {
      storage.removeItem(OLD);
      for (const name of Object.keys(storage)) {
        if (name.startsWith(PREFIX)) this.records.set(name.slice(PREFIX.length), JSON.parse(storage.getItem(name)));
      }
    } catch {
      // Denied, or written by something else: it is measured anew.
    }
  }

  /** Takes what another page did with one entry; all are gone where there is no name. */
  hear(name, value) {
    if (name === null) return this.changed({}, this.lose([...this.records.keys()]));
    if (!name.startsWith(PREFIX)) return;
    const key = name.slice(PREFIX.length);
    if (value === null) return this.changed({}, this.lose([key]));
    const [record, known] = [JSON.parse(value), this.records.get(key)];
    // What was measured here of another model stays: this page knows its own.
    if (known && !(isSame(record, known) && isFurther(record, known))) return;
    this.records.set(key, record);
    this.changed({ [key]: record }, []);
  }

  lose(keys) {
    return keys.filter((key) => this.records.delete(key));
  }

  /** Keeps what was measured here, and lets go of what was forgotten. */
  take(records, dropped) {
    for (const [key, record] of Object.entries(records)) {
      this.records.set(key, record);
      if (isFurther(record, stored(key))) this.write(key, JSON.stringify(record));
    }
    for (const key of dropped) {
      const known = this.records.get(key);
      const there = stored(key);
      // Another page may have measured the same of another model.
      if (known && there && isSame(known, there)) this.write(key, null);
      this.records.delete(key);
    }
  }

  /** Lets go of all, also of what belongs to other models and texts. */
  clear() {
    const keys = new Set(this.records.keys());
    for (const storage of storages()) {
      for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) keys.add(name.slice(PREFIX.length));
    }
    for (const key of keys) this.write(key, null);
    this.records.clear();
  }

  write(key, value) {
    const name = PREFIX + key;
    try {
      if (value === null) storageOf(key).removeItem(name);
      else storageOf(key).setItem(name, value);
    } catch {
      // A frame may have no storage, or it may be full.
      this.isKept = false;
    }
  }

  /** All as the laboratory takes it; null where there is nothing. */
  file() {
    return this.records.size ? file(Object.fromEntries(this.records)) : null;
  }
}

/** Records as the laboratory takes them. */
export const file = (records) => JSON.stringify({ longview_board: VERSION, records });

function stored(key) {
  try {
    return JSON.parse(storageOf(key).getItem(PREFIX + key));
  } catch {
    return null;
  }
}

/** Those that this page may use. */
function storages() {
  const usable = [];
  for (const name of NAMES) {
    try {
      usable.push(globalThis[name]);
    } catch {
      // A sandboxed frame has none.
    }
  }
  return usable.filter(Boolean);
}
