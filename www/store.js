// A state and those who follow it.

export class Store {
  /** @param {Record<string, any>} state */
  constructor(state) {
    this.state = state;
    /** @type {Set<(changed: Set<string>) => void>} */
    this.followers = new Set();
  }

  /** Takes what was changed, as a part of the state; tells the followers what is new. */
  set(part) {
    const changed = new Set(Object.keys(part).filter((name) => this.state[name] !== part[name]));
    if (changed.size === 0) return;
    Object.assign(this.state, part);
    for (const follower of [...this.followers]) follower(changed);
  }

  /** Gives a function that ends the following. */
  follow(follower) {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }
}
