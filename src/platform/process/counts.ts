/** Numbers by name. A name whose number is 0 takes no memory. */
export class Counts {
  private readonly numbers = new Map<string, number>();

  of(name: string): number {
    return this.numbers.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const number = this.of(name) + change;
    if (number === 0) this.numbers.delete(name);
    else this.numbers.set(name, number);
  }
}
