// SPDX-License-Identifier: MIT
// Calls functions of Rust with arguments of known types and values.

/// As std::hint::black_box, which came with Rust 1.66.
fn black_box<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[derive(Clone, Copy)]
#[repr(i8)]
pub enum Way {
    Up = -1,
    Down = 4,
}

#[inline(never)]
pub fn typed_rust(name: &str, way: Way, number: u32, flag: bool, large: i64) -> usize {
    let letters: usize = name.bytes().map(usize::from).sum();
    black_box(letters ^ way as usize ^ number as usize ^ flag as usize ^ large as usize)
}

fn main() {
    let letters = "abcdefghij";
    black_box(black_box(letters).bytes().max()); // its page lies in memory
    for i in 0..10u32 {
        let way = if i % 2 == 0 { Way::Up } else { Way::Down };
        black_box(typed_rust(
            black_box(&letters[..i as usize]),
            black_box(way),
            black_box(4_000_000_000 + i),
            black_box(i % 2 == 0),
            black_box(-5_000_000_000),
        ));
    }
}
