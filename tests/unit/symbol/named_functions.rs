// SPDX-License-Identifier: MIT
// Tells where its functions lie, what they are called and on which line they begin: by their
// addresses in memory, without any table of symbols. "ADDRESS LINE NAME" each, addresses relative
// to where the program was loaded.
mod shapes {
    // As std::hint::black_box, which came with Rust 1.66.
    fn opaque(value: u64) -> u64 { unsafe { std::ptr::read_volatile(&value) } }

    pub trait Area {
        fn area(&self) -> u64;
    }

    pub struct Square(pub u64);

    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> u64 { opaque(self.0 * self.0) }
    }
    pub const AREA_LINE: u32 = line!() - 2;

    #[inline(never)]
    pub fn double(value: u64) -> u64 { opaque(value * 2) }
    pub const DOUBLE_LINE: u32 = line!() - 1;
}

use shapes::Area;

extern "C" {
    static __executable_start: u8;
}

fn main() {
    let base = unsafe { &__executable_start as *const u8 as usize };
    let double = shapes::double as fn(u64) -> u64 as usize;
    let area = <shapes::Square as Area>::area as fn(&shapes::Square) -> u64 as usize;
    println!("{:x} {} named_functions::shapes::double", double - base, shapes::DOUBLE_LINE);
    println!("{:x} {} <named_functions::shapes::Square as named_functions::shapes::Area>::area",
             area - base, shapes::AREA_LINE);
}
